import { filesContract as contract } from '../../core/files/index.ts'
import { type Served, serve } from '../http/index.ts'
import { changeFile, deleteFile, restoreFile } from './change-file.ts'
import type { FilesDeps } from './deps.ts'
import { createFolder, deleteFolder, listFolders } from './folders.ts'
import { downloadFile, listFiles, showFile } from './show-files.ts'
import { uploadFile } from './upload-file.ts'
import { uploadsAtOnce } from './uploads-at-once.ts'

/** Folders first: their path would else be that of a file. */
export const filesRoutes = (deps: FilesDeps, letIn = uploadsAtOnce()): Served[] => [
  serve(contract.listFolders, ({ actor, params, query }) => listFolders(deps, actor, { ...params, ...query })),
  serve(contract.createFolder, ({ actor, params, body }) => createFolder(deps, actor, { ...params, ...body })),
  serve(contract.deleteFolder, async ({ actor, params }) => {
    await deleteFolder(deps, actor, params)
    return undefined
  }),
  serve(contract.listFiles, ({ actor, params, query }) => listFiles(deps, actor, { ...params, ...query })),
  serve(contract.uploadFile, ({ actor, params, upload }) => letIn(actor, () => uploadFile(deps, actor, { ...params, upload }))),
  serve(contract.showFile, ({ actor, params }) => showFile(deps, actor, params)),
  serve(contract.downloadFile, ({ actor, params }) => downloadFile(deps, actor, params)),
  serve(contract.changeFile, ({ actor, params, body }) => changeFile(deps, actor, { ...params, ...body })),
  serve(contract.deleteFile, async ({ actor, params, query }) => {
    await deleteFile(deps, actor, { ...params, ...query })
    return undefined
  }),
  serve(contract.restoreFile, ({ actor, params }) => restoreFile(deps, actor, params)),
]
