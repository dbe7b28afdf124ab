// @ts-check
/**
 * The public types; nothing here runs.
 *
 * Letters as in the paper: B batches, H query heads, Hkv key/value heads, Tq query rows, Tk key
 * rows, D head size. Element (b, i, h, d) of a tensor lies at offset + b·batch + i·row + h·head + d.
 */

/**
 * Where a tensor's elements lie in its binding, counted in elements.
 * @typedef {object} Strides
 * @property {number} [offset] element (0, 0, 0, 0); default 0
 * @property {number} batch
 * @property {number} row
 * @property {number} head
 */

/**
 * What is to be computed. `o = softmax(scale · q kᵀ, masked) v`.
 * @typedef {object} Spec
 * @property {number} [B] batches; default 1
 * @property {number} [H] query heads; default 1
 * @property {number} [Hkv] key and value heads, divides H; default H
 * @property {number} Tq query rows of a head
 * @property {number} [Tk] key rows of a head; default Tq
 * @property {number} D head size, 1 to 256
 * @property {boolean} [causal] default true
 * @property {"br" | "tl"} [align] causal corner when Tq ≠ Tk: bottom-right (row i sees
 *   j ≤ i + Tk − Tq; default) or top-left (j ≤ i)
 * @property {number | null} [scale] multiplies q kᵀ, rounded to float32; default 1/√D
 * @property {"bthd" | "bhtd" | "packed"} [layout] [B,T,H·D] (default), [B,H,T,D], or q|k|v side by
 *   side in each row of one buffer [B,T,(H+2·Hkv)·D] with o as bthd
 * @property {Partial<Record<"q" | "k" | "v" | "o" | "do" | "dq" | "dk" | "dv", Strides>>} [strides]
 *   replaces the layout's, of each tensor by itself. Without: do and dq lie as the layout's o does, dk
 *   and dv as its k and v, with packed as those of bthd. What is written (o; dq, dk and dv) must have
 *   each element in a place of its own, row beside row or head beside head
 * @property {boolean} [attn] forward: also write the attention matrix [B,H,Tq,Tk]; backward: that
 *   matrix is given, where a kernel needs it. Default false
 * @property {readonly [number, number]} [window] keys to the left and right; −1 = open (default).
 *   No kernel of this library takes another: Unsupported
 * @property {number} [softcap] 0 = off (default). No kernel of this library takes another
 * @property {"none" | "tt" | "htt" | "bhtt" | "b11t"} [bias] "none" (default), or the shape of what is
 *   added to the scores. No kernel of this library takes another than none
 * @property {string} [dtype] of q, k, v, o and the gradients: "f32" (default) or "f16"; lse and attn
 *   are f32 always
 * @property {"forward" | "backward"} [op] "forward" (default), or "backward": dq, dk, dv from do and
 *   the o and lse of a forward
 */

/**
 * What decides among kernels and tiles. Here as in a Spec, a key that is not listed is refused.
 * @typedef {object} PlanOptions
 * @property {string} [kernel] "auto" (default), a family ("fa2", "baseline") or a kernel's name
 * @property {boolean} [trace] kernels that can tell their state after each tile do so (`prepare`)
 */

/**
 * The numbers of a device that a plan needs; `device.limits` is one.
 * @typedef {object} Limits
 * @property {number} maxComputeWorkgroupStorageSize bytes
 * @property {number} maxComputeInvocationsPerWorkgroup
 * @property {number} maxComputeWorkgroupSizeX
 * @property {number} maxComputeWorkgroupsPerDimension
 * @property {number} maxStorageBuffersPerShaderStage
 * @property {number} maxStorageBufferBindingSize bytes
 * @property {number} maxBufferSize bytes
 */

/**
 * A shape of subgroup matrices, as Chromium's experimental feature lists them.
 * @typedef {{componentType: string, resultComponentType: string, M: number, N: number, K: number}
 *   } MatrixConfig
 */

/**
 * What is known of a device or an adapter: a GPUDevice or a GPUAdapter is one.
 * @typedef {object} Described
 * @property {Limits} limits
 * @property {Iterable<string>} [features]
 * @property {AdapterInfo} [info] of an adapter
 * @property {AdapterInfo} [adapterInfo] of a device
 */

/**
 * The parts of GPUAdapterInfo that matter here; not every browser has all of them.
 * @typedef {object} AdapterInfo
 * @property {string} [vendor]
 * @property {string} [architecture]
 * @property {string} [device]
 * @property {string} [description]
 * @property {boolean} [isFallbackAdapter]
 * @property {number} [subgroupMinSize]
 * @property {number} [subgroupMaxSize]
 * @property {readonly MatrixConfig[]} [subgroupMatrixConfigs]
 */

/**
 * What a plan knows of a device.
 * @typedef {object} DeviceFacts
 * @property {Limits} limits
 * @property {readonly string[]} features
 * @property {string} vendor "" = not told
 * @property {boolean} software it computes on the CPU
 * @property {number} subgroupMinSize the smallest subgroup; 0 = none that a kernel may count on
 * @property {number} subgroupMaxSize
 * @property {readonly string[]} matrices subgroup matrices, as "f16:f32:16x16x16"
 */

/**
 * What a measurement on one adapter found better than the library's own tiles (`fa2 tune` writes
 * it): by kernel, tiles that are tried first, and kernels that are preferred where conditions hold. A
 * tile that does not fit is passed over, and so is one that does not compile at some size.
 * @typedef {object} TunedTable
 * @property {Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>} [kernels]
 * @property {readonly ({op: string, kernel: string} & Readonly<Record<string, unknown>>)[]
 *   } [choices]
 * @property {boolean} [strict] a tile that does not compile is an error. Default false
 */

/**
 * One dispatch of one kernel.
 * @typedef {object} Pass
 * @property {string} kernel registry name
 * @property {string} file path under the shader folder
 * @property {Readonly<Record<string, number | boolean>>} constants of the composed text
 * @property {Readonly<Record<string, string>>} roles the file that plays each role
 * @property {readonly string[]} enable WGSL extensions
 * @property {Readonly<Record<string, unknown>>} tile what the chosen tile row says, constants and
 *   what they are derived from
 * @property {string} why the figure that justifies the tile; "" = none is told
 * @property {readonly {name: TensorName, binding: number, access: "read" | "write"}[]} bindings
 *   binding 0 is the uniform
 * @property {number} invocations of a workgroup
 * @property {Readonly<Record<string, number>>} workgroupBytes of each array in workgroup memory
 * @property {number} workgroups in all
 * @property {number} work floating-point operations of its matrix products, about
 * @property {readonly {workgroups: number, work: number}[]} parts runs of workgroups with alike work, in
 *   order, which make up both
 */

/**
 * dscores, delta, row_terms, o_part and ml_part, and attn in a backward, are the library's own; dbg
 * is where kernels tell their state, the caller's, and bound in operations alone that tell some.
 * @typedef {"q" | "k" | "v" | "o" | "lse" | "attn" | "do" | "dq" | "dk" | "dv" | "delta" | "dscores"
 *   | "o_part" | "ml_part" | "row_terms" | "dbg"} TensorName one for each number in bindings.js
 */

/**
 * What would run, decided without a device.
 * @typedef {object} Plan
 * @property {string} kernel name of the chosen kernel
 * @property {string} family "fa2" or "baseline"
 * @property {{Br: number, Bc: number} | null} tile query rows and keys that a workgroup owns (a
 *   backward owns them in different passes); null where work goes by elements, and where the
 *   workgroups that own them write no output (fa2_forward_split)
 * @property {readonly Pass[]} passes in order
 * @property {number} dispatches of `encode`
 * @property {Readonly<Record<string, number>>} buffers bytes that each binding must have at least;
 *   with layout "packed", q, k and v lie in one buffer, listed as `qkv`
 * @property {Readonly<Record<string, number>>} scratch bytes of each buffer that the operation
 *   allocates for what its passes hand on to one another
 * @property {number} scratchBytes these together
 * @property {number} ownBytes what `prepare` allocates in all: scratch and the uniform
 * @property {number} sizeBytes the caller's and the library's together
 * @property {Readonly<Record<string, number>>} params uniform members shared by all passes
 * @property {readonly string[]} [traced] of a prepared operation that binds the buffer `dbg`: the
 *   kernels that tell their tiles; [] where dbg() alone is called
 * @property {readonly string[]} [warnings] of a prepared operation: what was left out since it
 *   does not compile (tuned tiles, kernels on subgroup matrices), and what the compiler said
 */

/**
 * Buffers of the caller, created with the usage STORAGE. A GPUBuffer means all of it. With layout
 * "packed", `qkv` may stand for q, k and v. What is written must lie in other buffers than what is
 * read, and share no bytes with another output: WebGPU forbids both within a dispatch.
 * @typedef {Partial<Record<TensorName | "qkv", GPUBuffer | GPUBufferBinding>>} Buffers
 */

/**
 * Records one compute pass; `timestampWrites` are that pass's, for a device with timestamp-query.
 * Throws SpecError before it begins the pass: no encoder, a buffer that is missing, misspelt, too small
 * or that WebGPU would not bind, an operation that was destroyed.
 * @typedef {(encoder: GPUCommandEncoder, buffers: Buffers,
 *   timestampWrites?: GPUComputePassTimestampWrites) => void} Encode
 */

/**
 * A part of an operation, for one submit.
 * @typedef {object} Step
 * @property {number} work floating-point operations, about
 * @property {Encode} encode
 */

/**
 * A compiled plan. The same operation serves any number of buffers, one after another: one with
 * scratch (a backward, a forward that splits the keys) keeps it from one `encode` to the next, but
 * nothing in it.
 * @typedef {object} Operation
 * @property {Plan} plan
 * @property {string} kernel
 * @property {{Br: number, Bc: number} | null} tile
 * @property {number} dispatches
 * @property {number} scratchBytes allocated until `destroy`, beside the uniforms
 * @property {string} shaderSha256 of the composed text; of several: of their digests, a line each
 * @property {Encode} encode adds everything to the caller's encoder, in one compute pass; submits
 *   nothing
 * @property {(maxWork?: number) => Step[]} steps the same work cut at workgroups, so that a long
 *   operation can be submitted in parts, in this order; default 2e9 operations each. The same cut
 *   has one uniform, which is kept until `destroy`
 * @property {() => void} destroy frees uniforms and scratch; after it `encode`, `steps` and what
 *   `steps` returned throw SpecError
 */

/**
 * Attention on one device.
 * @typedef {object} Attention
 * @property {(spec: Spec, options?: PlanOptions) => Plan} plan decides; compiles and allocates
 *   nothing, so it takes the device's word for its subgroups and a tuned table's for its tiles. An
 *   operation's own `plan` is what runs: `prepare` first runs a probe where a kernel counts on
 *   subgroups, leaves out tuned tiles that do not compile, and kernels on subgroup matrices where a
 *   browser writes these otherwise (what it has learnt of the device, `plan` knows too). Throws
 *   SpecError, Unsupported
 * @property {(spec: Spec, options?: PlanOptions) => Promise<Operation>} prepare plans and
 *   compiles; pipelines are cached by the SHA-256 of their text. Throws CompileError too
 * @property {() => void} reload the shader files may have changed: the next `prepare` fetches them
 *   anew. Operations stay as they are, and so do pipelines, by their text
 * @property {() => Record<string, number>} allocated bytes of the buffers that the library holds
 *   at this moment, by label
 * @property {() => void} destroy frees every operation; the buffers and the device are the caller's.
 *   `prepare` throws SpecError from then on, also one that is under way
 */

export {};
