// Files and folders of spaces: upload, download, change, delete, restore, and the storage quota of tenants.
// Decides who may change a file. The space decides who may see it, and every call asks it first.
// Bytes are in the object store, under keys that a row names before they are written. Knows no chat server.
import './files.tables.ts'
import { feature } from '../feature/index.ts'
import type { FilesDeps } from './deps.ts'
import { filesJobs } from './erase-files.ts'
import { filesRoutes } from './files.routes.ts'
import { deleteOldFolders } from './folders.ts'

export type { FilesDeps } from './deps.ts'
export { eraseFilesOf, eraseTenantFiles } from './erase-files.ts'
export { fileUsageOf } from './file-usage.ts'
export { filesStored, findFile, objectKey, someFileKeys, spacesWithFiles } from './files.repo.ts'
export { filesRoutes } from './files.routes.ts'
export { findFileOf, newestFiles, readContent } from './read-content.ts'
export { prepareFile, type StoreDeps, storeFile } from './store-file.ts'

export const filesFeature = feature<FilesDeps>({
  name: 'files',
  routes: (deps) => filesRoutes(deps),
  crons: filesJobs,
  cleanup: (deps) => [() => deleteOldFolders(deps)],
})
