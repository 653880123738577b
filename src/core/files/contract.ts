import { z } from 'zod'
import { type Contract, empty, endpoint, Paging, platform, Timestamp } from '../contract/index.ts'
import { ofSpace, SpaceName } from '../spaces/index.ts'

const base = '/api/platform/v1/spaces/:spaceId/files/folders'

const FolderKey = z.string().regex(/^fld_[0-9a-z]{20}$/, 'must be the id of a folder')

const Folder = z.object({
  id: z.string(),
  spaceId: z.string(),
  name: z.string(),
  createdBy: z.string().meta({ description: 'The user who made it' }),
  createdAt: Timestamp,
})
export type Folder = z.infer<typeof Folder>

/** What members of a space keep there. For everybody else there is nothing. */
export const filesContract = {
  listFolders: endpoint({
    method: 'GET',
    path: base,
    auth: platform(),
    params: ofSpace,
    query: Paging,
    returns: z.object({ folders: z.array(Folder), nextCursor: z.string().nullable() }),
    summary: 'Folders of a space, for its members',
    spec: '4.3',
  }),
  createFolder: endpoint({
    method: 'POST',
    path: base,
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
    path: `${base}/:folderId`,
    auth: platform(),
    params: ofSpace.extend({ folderId: FolderKey }),
    returns: empty,
    problems: ['FORBIDDEN'],
    summary: 'Delete a folder, for who made it and for owners of the space',
  }),
} as const satisfies Contract
