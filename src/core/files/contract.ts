import { z } from 'zod'
import { type Contract, empty, endpoint, file, Paging, pagingBy, platform, Timestamp, YesNo } from '../contract/index.ts'
import { ofSpace, SpaceName } from '../spaces/index.ts'
import { File, FileKey, FileName, FolderKey, maxFileBytes, UploadFields } from './file.ts'

const base = '/api/platform/v1/spaces/:spaceId/files'
const folders = `${base}/folders` as const
const one = `${base}/:fileId` as const
const ofFile = ofSpace.extend({ fileId: FileKey })

const Folder = z.object({
  id: z.string(),
  spaceId: z.string(),
  name: z.string(),
  createdBy: z.string().meta({ description: 'The user who created it' }),
  createdAt: Timestamp,
})
export type Folder = z.infer<typeof Folder>

const Filters = Paging.extend({
  folderId: z
    .union([FolderKey, z.literal('none')])
    .optional()
    .meta({ description: 'Only files of this folder, or `none`: files outside folders' }),
  deleted: YesNo.default(false).meta({ description: 'List deleted files that can be restored instead' }),
})

const ChangeFileBody = z
  .strictObject({ name: FileName.optional(), folderId: FolderKey.nullable().optional().meta({ description: 'null: into no folder' }) })
  .refine((body) => Object.keys(body).length > 0, 'must change something: name or folderId')
  .meta({ minProperties: 1 })

/** Files and folders of a space, for its members. Returns 404 to everyone else. */
export const filesContract = {
  listFolders: endpoint({
    method: 'GET',
    path: folders,
    auth: platform(),
    params: ofSpace,
    query: pagingBy(FolderKey),
    returns: z.object({ folders: z.array(Folder), nextCursor: z.string().nullable() }),
    summary: 'List the folders of a space',
    spec: '4.3',
  }),
  createFolder: endpoint({
    method: 'POST',
    audit: { none: 'own data of users; their events record it' },
    path: folders,
    auth: platform(),
    params: ofSpace,
    body: z.strictObject({ name: SpaceName }),
    returns: Folder,
    status: 201,
    problems: ['ALREADY_EXISTS'],
    summary: 'Create a folder; its name is unique in the space',
  }),
  deleteFolder: endpoint({
    method: 'DELETE',
    audit: { none: 'own data of users; their events record it' },
    path: `${folders}/:folderId`,
    auth: platform(),
    params: ofSpace.extend({ folderId: FolderKey }),
    returns: empty,
    problems: ['FORBIDDEN'],
    summary: 'Delete a folder and its files (space owners, or the user who created all of them)',
  }),
  listFiles: endpoint({
    method: 'GET',
    path: base,
    auth: platform(),
    params: ofSpace,
    query: Filters,
    returns: z.object({ files: z.array(File), nextCursor: z.string().nullable() }),
    summary: 'List the files of a space, newest first',
  }),
  uploadFile: endpoint({
    method: 'POST',
    audit: { none: 'own data of users; their events record it' },
    path: base,
    auth: platform(),
    params: ofSpace,
    multipart: { part: 'file', maxBytes: maxFileBytes, fields: UploadFields },
    returns: File,
    status: 201,
    problems: ['QUOTA_EXCEEDED', 'OBJECT_STORE_UNAVAILABLE', 'CONFLICT'],
    summary: 'Upload a file to a space, at most 50 MB',
  }),
  showFile: endpoint({ method: 'GET', path: one, auth: platform(), params: ofFile, returns: File, summary: 'Show a file' }),
  downloadFile: endpoint({
    method: 'GET',
    path: `${one}/content`,
    auth: platform(),
    params: ofFile,
    returns: file,
    problems: ['OBJECT_STORE_UNAVAILABLE'],
    summary: 'Download a file',
  }),
  changeFile: endpoint({
    method: 'PATCH',
    audit: { none: 'own data of users; their events record it' },
    path: one,
    auth: platform(),
    params: ofFile,
    body: ChangeFileBody,
    returns: File,
    problems: ['FORBIDDEN'],
    summary: 'Rename or move a file (its uploader or space owners)',
  }),
  deleteFile: endpoint({
    method: 'DELETE',
    audit: { none: 'own data of users; their events record it' },
    path: one,
    auth: platform(),
    params: ofFile,
    query: z.strictObject({
      forGood: YesNo.default(false).meta({ description: 'Erase at once and permanently, freeing its storage; also for deleted files' }),
    }),
    returns: empty,
    problems: ['FORBIDDEN'],
    summary: 'Delete a file (its uploader or space owners); restorable for 30 days',
  }),
  restoreFile: endpoint({
    method: 'POST',
    audit: { none: 'own data of users; their events record it' },
    path: `${one}/restore`,
    auth: platform(),
    params: ofFile,
    returns: File,
    problems: ['FORBIDDEN'],
    summary: 'Restore a deleted file (its uploader or space owners). Idempotent',
  }),
} as const satisfies Contract
