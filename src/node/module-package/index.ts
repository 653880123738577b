// Module packages on the machine: read a zip within limits, scan it, pack a folder.
// It runs nothing of a package. What a finding is, src/core/scan decides.
export { type LoadedModule, loadModule, moduleText } from './load-module.ts'
export { readModuleFolder, zipOf } from './pack.ts'
export { readArchive } from './read-archive.ts'
export { scanInProcess } from './scan-in-process.ts'
export { scanPackage } from './scan-package.ts'
