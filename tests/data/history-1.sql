-- A history of version 1, as its program left it: one run that passed, and one that failed.
BEGIN TRANSACTION;
CREATE TABLE adapters (
  id INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  facts TEXT NOT NULL                 -- JSON, as the page told them
);
INSERT INTO "adapters" VALUES(1,'889fddae6495ee16d6b41f5d80cfac8a42bdbcef73bedd140ef477acbaa140f9','acme one (software)','{"vendor": "acme", "architecture": "one", "fallback": true, "withheld": ["shader-f16"]}');
CREATE TABLE bundle_files (
  bundle INTEGER NOT NULL REFERENCES bundles ON DELETE CASCADE,
  path TEXT NOT NULL,
  text INTEGER NOT NULL REFERENCES texts,
  PRIMARY KEY (bundle, path)
) WITHOUT ROWID;
INSERT INTO "bundle_files" VALUES(1,'fa2_forward.wgsl',1);
CREATE TABLE bundles (                -- the shader files as a run had them
  id INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL UNIQUE
);
INSERT INTO "bundles" VALUES(1,'daa4828b13d22096d500a5d5eeb1add4404d7219802045d18dd117becc92647d');
CREATE TABLE outputs (
  seq INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  name TEXT NOT NULL,
  bytes INTEGER NOT NULL,             -- of packed
  packed BLOB NOT NULL,               -- zlib of little-endian bytes in C order
  PRIMARY KEY (seq, name)
);
INSERT INTO "outputs" VALUES(2,'o',15,X'7801636068B06718400C00F0EB17E1');
INSERT INTO "outputs" VALUES(2,'lse',14,X'7801636068B067C083015DA805F9');
INSERT INTO "outputs" VALUES(2,'dq',15,X'7801636068B06718400C00F0EB17E1');
INSERT INTO "outputs" VALUES(2,'dk',15,X'7801636068B06718400C00F0EB17E1');
INSERT INTO "outputs" VALUES(2,'dv',15,X'7801636068B06718400C00F0EB17E1');
CREATE TABLE reports (
  seq INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
  message TEXT NOT NULL,
  report TEXT NOT NULL,               -- JSON, without the adapter
  request TEXT NOT NULL,              -- JSON: what it takes to ask for the same again
  digests TEXT NOT NULL               -- JSON: SHA-256 of each output's bytes, shape, dtype
);
INSERT INTO "reports" VALUES(1,'it is a pass','{"case": "forward:T=8,H=2,D=4", "kernel": "fa2_forward", "status": "pass", "message": "it is a pass", "outputs": {"o": {"worst_ratio": 0.25, "worst": {"index": [0, 1, 0, 2], "tile": [0], "actual": 1.5, "expected": 1.0, "allowed": 0.25}, "bad": 0, "total": 64, "nan": 0, "inf": 0, "where": ""}}, "controls": {}, "kappa": 4.0, "input_sha256": "1111111111111111111111111111111111111111111111111111111111111111", "shader_sha256": "2222222222222222222222222222222222222222222222222222222222222222", "adapter": null, "engine": "NumPy", "passes": [], "elapsed_ns": 2000000.0, "compile_ns": null, "first_result_ns": null, "gpu_ns": null, "edited": [], "told": 0, "warnings": [], "finding": null, "error": null}','{"case": "forward:T=8,H=2,D=4", "kappa": 4.0, "without": ["shader-f16"], "seeded": true, "deadline_s": 1.0, "trace": null, "tuned": null, "own": null, "samples": null, "environment": {"webgpu-fa2": "0.1.0", "python": "3.13", "numpy": "2", "platform": "somewhere", "launched": {"args": []}}}','{"o": {"sha256": "2f20cd03c9cd392a406c56232b0ff93a15f6d6d7da79086bfa14f55d4a4031b0", "dtype": "<f4", "shape": [1, 8, 2, 4]}, "lse": {"sha256": "9628e545ed3ac074e5a6cbf542a642b62482fbfca9b4cb3ea4743a1874256e37", "dtype": "<f4", "shape": [1, 2, 8]}}');
INSERT INTO "reports" VALUES(2,'it is a fail','{"case": "backward:T=8,D=4", "kernel": "fa2_forward", "status": "fail", "message": "it is a fail", "outputs": {"o": {"worst_ratio": 7.5, "worst": {"index": [0, 1, 0, 2], "tile": [0], "actual": 1.5, "expected": 1.0, "allowed": 0.25}, "bad": 3, "total": 64, "nan": 0, "inf": 0, "where": ""}}, "controls": {}, "kappa": 4.0, "input_sha256": "1111111111111111111111111111111111111111111111111111111111111111", "shader_sha256": "2222222222222222222222222222222222222222222222222222222222222222", "adapter": null, "engine": "NumPy", "passes": [], "elapsed_ns": 2000000.0, "compile_ns": null, "first_result_ns": null, "gpu_ns": null, "edited": [], "told": 0, "warnings": [], "finding": null, "error": null}','{"case": "backward:T=8,D=4", "kappa": 4.0, "without": ["shader-f16"], "seeded": true, "deadline_s": 1.0, "trace": null, "tuned": null, "own": null, "samples": null, "environment": {"webgpu-fa2": "0.1.0", "python": "3.13", "numpy": "2", "platform": "somewhere", "launched": {"args": []}}}','{"o": {"sha256": "b638277a8690e175a9137feff1e43c067f9faf4e2f600caf468fb05b0403b717", "dtype": "<f4", "shape": [1, 8, 1, 4]}, "lse": {"sha256": "4f05df05f8da9356bd66425351f166a5f7305b7c805e6900d9ec0f50790c9886", "dtype": "<f4", "shape": [1, 1, 8]}, "dq": {"sha256": "b638277a8690e175a9137feff1e43c067f9faf4e2f600caf468fb05b0403b717", "dtype": "<f4", "shape": [1, 8, 1, 4]}, "dk": {"sha256": "b638277a8690e175a9137feff1e43c067f9faf4e2f600caf468fb05b0403b717", "dtype": "<f4", "shape": [1, 8, 1, 4]}, "dv": {"sha256": "b638277a8690e175a9137feff1e43c067f9faf4e2f600caf468fb05b0403b717", "dtype": "<f4", "shape": [1, 8, 1, 4]}}');
CREATE TABLE runs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,                 -- run, bench
  origin TEXT NOT NULL,               -- who asked: page, run, check, pytest, …
  finished REAL NOT NULL,             -- seconds since 1970, UTC
  case_id TEXT NOT NULL,
  kernel TEXT NOT NULL,
  own TEXT NOT NULL,                  -- the name of a kernel that is not ours, else ''
  status TEXT NOT NULL,
  worst REAL,                         -- largest |error| / allowed; inf for NaN; NULL: not judged
  bad INTEGER NOT NULL,               -- elements over the bound, all outputs
  elapsed_ns REAL,
  gpu_ns REAL,
  median_ns REAL,                     -- of a benchmark
  tflops REAL,
  engine TEXT NOT NULL,
  adapter INTEGER REFERENCES adapters,
  shader_sha256 TEXT NOT NULL,
  edited INTEGER NOT NULL,            -- how many shader files were replaced
  bundle INTEGER REFERENCES bundles,
  kept_bytes INTEGER NOT NULL DEFAULT 0
);
INSERT INTO "runs" VALUES(1,'aaaaaaaaaaaaaaaa','run','run',1.79604149185192608828e+09,'forward:T=8,H=2,D=4','fa2_forward','','pass',0.25,0,2000000.0,NULL,NULL,NULL,'NumPy',1,'2222222222222222222222222222222222222222222222222222222222222222',0,1,0);
INSERT INTO "runs" VALUES(2,'bbbbbbbbbbbbbbbb','run','run',1.79604149185194396972e+09,'backward:T=8,D=4','fa2_forward','','fail',7.5,3,2000000.0,NULL,NULL,NULL,'NumPy',1,'2222222222222222222222222222222222222222222222222222222222222222',0,1,74);
CREATE TABLE texts (
  id INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL UNIQUE,        -- of the UTF-8
  bytes INTEGER NOT NULL,             -- of the UTF-8
  packed BLOB NOT NULL                -- zlib
);
INSERT INTO "texts" VALUES(1,'f0f5020a92ac9d805d0b9fd0ec2db752dbd036cc4ce154b2e2d14c9851972346',13,X'789CD3D757482C56C82C51284F2CE6020018FF03C5');
CREATE INDEX bundle_files_text ON bundle_files (text);
CREATE INDEX runs_adapter ON runs (adapter);
CREATE INDEX runs_bundle ON runs (bundle);
CREATE INDEX runs_status ON runs (status, seq);
COMMIT;
PRAGMA user_version = 1;
