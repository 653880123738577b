import { z } from 'zod'
import { type Contract, empty, endpoint, file, Paging, platform, Timestamp, YesNo } from '../contract/index.ts'
import { ofSpace, SpaceName } from '../spaces/index.ts'
import { File, FileKey, FolderKey, mostFileBytes, UploadFields } from './file.ts'
import { FileName } from './file-name.ts'

const base = '/api/platform/v1/spaces/:spaceId/files'
const folders = `${base}/folders` as const
const one = `${base}/:fileId` as const
const ofFile = ofSpace.extend({ fileId: FileKey })

const Folder = z.object({
  id: z.string(),
  spaceId: z.string(),
  name: z.string(),
  createdBy: z.string().meta({ description: 'The user who made it' }),
  createdAt: Timestamp,
})
export type Folder = z.infer<typeof Folder>

const Filters = Paging.extend({
  folderId: z
    .union([FolderKey, z.literal('none')])
    .optional()
    .meta({ description: 'Those of a folder, or `none`: of no folder' }),
  deleted: YesNo.default(false).meta({ description: 'Those that can be restored, instead of those that are there' }),
})

const ChangeFileBody = z
  .strictObject({ name: FileName.optional(), folderId: FolderKey.nullable().optional().meta({ description: 'null: into no folder' }) })
  .refine((body) => Object.keys(body).length > 0, 'must change something: name or folderId')
  .meta({ minProperties: 1 })

/** What members of a space keep there. For everybody else there is nothing. */
export const filesContract = {
  listFolders: endpoint({
    method: 'GET',
    path: folders,
    auth: platform(),
    params: ofSpace,
    query: Paging,
    returns: z.object({ folders: z.array(Folder), nextCursor: z.string().nullable() }),
    summary: 'Folders of a space, for its members',
    spec: '4.3',
  }),
  createFolder: endpoint({
    method: 'POST',
    path: folders,
    auth: platform(),
    params: ofSpace,
    body: z.strictObject({ name: SpaceName }),
    returns: Folder,
    status: 201,
    problems: ['ALREADY_EXISTS'],
    summary: 'Make a folder in a space, for its members; its name is its alone there',
  }),
  deleteFolder: endpoint({
    method: 'DELETE',
    path: `${folders}/:folderId`,
    auth: platform(),
    params: ofSpace.extend({ folderId: FolderKey }),
    returns: empty,
    problems: ['FORBIDDEN'],
    summary: 'Delete a folder with its files, for owners of the space and for who made all of them',
  }),
  listFiles: endpoint({
    method: 'GET',
    path: base,
    auth: platform(),
    params: ofSpace,
    query: Filters,
    returns: z.object({ files: z.array(File), nextCursor: z.string().nullable() }),
    summary: 'Files of a space, the newest first, for its members',
  }),
  uploadFile: endpoint({
    method: 'POST',
    path: base,
    auth: platform(),
    params: ofSpace,
    multipart: { part: 'file', maxBytes: mostFileBytes, fields: UploadFields },
    returns: File,
    status: 201,
    problems: ['QUOTA_EXCEEDED', 'OBJECT_STORE_UNAVAILABLE', 'CONFLICT'],
    summary: 'Keep a file in a space, for its members; 50 MB at most',
  }),
  showFile: endpoint({ method: 'GET', path: one, auth: platform(), params: ofFile, returns: File, summary: 'One file, without its bytes' }),
  downloadFile: endpoint({
    method: 'GET',
    path: `${one}/content`,
    auth: platform(),
    params: ofFile,
    returns: file,
    problems: ['OBJECT_STORE_UNAVAILABLE'],
    summary: 'The bytes of a file',
  }),
  changeFile: endpoint({
    method: 'PATCH',
    path: one,
    auth: platform(),
    params: ofFile,
    body: ChangeFileBody,
    returns: File,
    problems: ['FORBIDDEN'],
    summary: 'Name a file anew or move it, for who uploaded it and for owners of the space',
  }),
  deleteFile: endpoint({
    method: 'DELETE',
    path: one,
    auth: platform(),
    params: ofFile,
    query: z.strictObject({
      forGood: YesNo.default(false).meta({ description: 'At once and for ever, which frees its space; deleted files too' }),
    }),
    returns: empty,
    problems: ['FORBIDDEN'],
    summary: 'Delete a file, for who uploaded it and for owners of the space; it can be restored for 30 days',
  }),
  restoreFile: endpoint({
    method: 'POST',
    path: `${one}/restore`,
    auth: platform(),
    params: ofFile,
    returns: File,
    problems: ['FORBIDDEN'],
    summary: 'Bring a deleted file back, for who uploaded it and for owners of the space. Again changes nothing',
  }),
} as const satisfies Contract
