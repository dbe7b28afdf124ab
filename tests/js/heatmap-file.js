// @ts-check

/**
 * A heat map as the server sends it.
 *
 * @param {number} rows
 * @param {number} columns
 * @param {Record<string, string>} [metadata]
 */
export function file(rows, columns, metadata = {}) {
  const n = rows * columns;
  const first = (/** @type {string} */ axis) => Number(metadata[`first_${axis}`] ?? 0);
  const cell = (/** @type {string} */ axes) => Number(metadata[`cell_${axes}`] ?? 1);
  const planes = {
    expected: new Float64Array(n).fill(0.25),
    allowed: new Float64Array(n).fill(1e-7),
    ratio: Float64Array.from({ length: n }, (_, i) => i / 10),
    actual: new Float32Array(n).fill(0.5),
    ulp: new Float64Array(n).fill(3),
    row: Uint32Array.from(
      { length: n },
      (_, i) => first("row") + Math.floor(i / columns) * cell("rows"),
    ),
    column: Uint32Array.from(
      { length: n },
      (_, i) => first("column") + (i % columns) * cell("columns"),
    ),
  };
  const types = { Float32Array: "F32", Float64Array: "F64", Uint32Array: "U32" };
  /** @type {Record<string, unknown>} */
  const header = {
    __metadata__: {
      rows: String(rows),
      columns: String(columns),
      cell_rows: "1",
      cell_columns: "1",
      first_row: "0",
      first_column: "0",
      all_rows: String(rows * cell("rows")),
      all_columns: String(columns * cell("columns")),
      row_tile: "2",
      column_tile: "0",
      row_axis: "query",
      column_axis: "channel",
      b: "0",
      h: "1",
      batches: "2",
      heads: "3",
      ...metadata,
    },
  };
  let at = 0;
  for (const [name, data] of Object.entries(planes)) {
    const dtype = types[/** @type {keyof typeof types} */ (data.constructor.name)];
    header[name] = { dtype, shape: [rows, columns], data_offsets: [at, at + data.byteLength] };
    at += data.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + at);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  let end = 8 + text.length;
  for (const data of Object.values(planes)) {
    bytes.set(new Uint8Array(data.buffer), end);
    end += data.byteLength;
  }
  return bytes.buffer;
}
