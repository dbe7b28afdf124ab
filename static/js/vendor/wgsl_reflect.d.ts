// Built by `npm run vendor`; do not edit.
export { WgslReflect } from "wgsl_reflect";
