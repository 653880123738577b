import { filesContract as contract } from '../../core/files/index.ts'
import { serveContract } from '../http/index.ts'
import { changeFile, deleteFile, restoreFile } from './change-file.ts'
import type { FilesDeps } from './deps.ts'
import { createFolder, deleteFolder, listFolders } from './folders.ts'
import { downloadFile, listFiles, showFile } from './show-files.ts'
import { uploadFile, uploadLimiter } from './upload-file.ts'

/** Folders first: their path would else be that of a file. */
export const filesRoutes = (deps: FilesDeps, limitUpload = uploadLimiter()) =>
  serveContract(contract, {
    listFolders: ({ actor, params, query }) => listFolders(deps, actor, { ...params, ...query }),
    createFolder: ({ actor, params, body }) => createFolder(deps, actor, { ...params, ...body }),
    deleteFolder: async ({ actor, params }) => {
      await deleteFolder(deps, actor, params)
      return undefined
    },
    listFiles: ({ actor, params, query }) => listFiles(deps, actor, { ...params, ...query }),
    uploadFile: ({ actor, params, upload }) => limitUpload(actor, () => uploadFile(deps, actor, { ...params, upload })),
    showFile: ({ actor, params }) => showFile(deps, actor, params),
    downloadFile: ({ actor, params }) => downloadFile(deps, actor, params),
    changeFile: ({ actor, params, body }) => changeFile(deps, actor, { ...params, ...body }),
    deleteFile: async ({ actor, params, query }) => {
      await deleteFile(deps, actor, { ...params, ...query })
      return undefined
    },
    restoreFile: ({ actor, params }) => restoreFile(deps, actor, params),
  })
