// What members keep in spaces: folders and files. Every call asks the space first, so that nothing is here for who is no member.
// It decides who may change what, and counts what each tenant keeps. Bytes are in the object store, under keys that rows name first.
// It knows no chat server.
import './files.tables.ts'
import { feature } from '../feature/index.ts'
import { filesJobs } from './clean-up-files.ts'
import type { FilesDeps } from './deps.ts'
import { filesRoutes } from './files.routes.ts'
import { forgetFolders } from './folders.ts'

export { filesJobs } from './clean-up-files.ts'
export { fileUseOf } from './file-use.ts'
export { spacesWithFiles } from './files.repo.ts'
export { filesRoutes } from './files.routes.ts'
export { forgetFolders } from './folders.ts'

export const filesFeature = feature<FilesDeps>({
  name: 'files',
  routes: (deps) => filesRoutes(deps),
  crons: filesJobs,
  cleanup: (deps) => [() => forgetFolders(deps)],
})
