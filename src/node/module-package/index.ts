// Module packages on the machine: read a zip within limits, scan it, pack a folder.
// It runs nothing of a package. What a finding is, src/core/scan decides.
export { type LoadedModule, loadModule } from './load-module.ts'
export { readModuleFolder, zipOf } from './pack.ts'
export { type PackageFile, readArchive } from './read-archive.ts'
export { scanInWorker } from './scan-in-worker.ts'
export { type ScanReport, scanPackage } from './scan-package.ts'
