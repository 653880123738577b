import { filesContract as contract } from '../../core/files/index.ts'
import { type Served, serve } from '../http/index.ts'
import { changeFile, deleteFile, restoreFile } from './change-file.ts'
import { createFolder, deleteFolder, listFolders } from './folders.ts'
import type { FilesNeeds } from './needs.ts'
import { downloadFile, listFiles, showFile } from './show-files.ts'
import { uploadFile } from './upload-file.ts'
import { uploadsAtOnce } from './uploads-at-once.ts'

/** Folders first: their path would else be that of a file. */
export const filesRoutes = (needs: FilesNeeds, letIn = uploadsAtOnce()): Served[] => [
  serve(contract.listFolders, ({ actor, params, query }) => listFolders(needs, actor, { ...params, ...query })),
  serve(contract.createFolder, ({ actor, params, body }) => createFolder(needs, actor, { ...params, ...body })),
  serve(contract.deleteFolder, async ({ actor, params }) => {
    await deleteFolder(needs, actor, params)
    return undefined
  }),
  serve(contract.listFiles, ({ actor, params, query }) => listFiles(needs, actor, { ...params, ...query })),
  serve(contract.uploadFile, ({ actor, params, upload }) => letIn(actor, () => uploadFile(needs, actor, { ...params, upload }))),
  serve(contract.showFile, ({ actor, params }) => showFile(needs, actor, params)),
  serve(contract.downloadFile, ({ actor, params }) => downloadFile(needs, actor, params)),
  serve(contract.changeFile, ({ actor, params, body }) => changeFile(needs, actor, { ...params, ...body })),
  serve(contract.deleteFile, async ({ actor, params, query }) => {
    await deleteFile(needs, actor, { ...params, ...query })
    return undefined
  }),
  serve(contract.restoreFile, ({ actor, params }) => restoreFile(needs, actor, params)),
]
