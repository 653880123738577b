import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { FileName } from './file-name.ts'

export const File = z.object({
  id: z.string(),
  spaceId: z.string(),
  folderId: z.string().nullable().meta({ description: 'null: in no folder' }),
  name: z.string(),
  bytes: z.int(),
  contentType: z.string().meta({ description: 'As its maker said; what is downloaded says what it is by its bytes' }),
  sha256: z.string(),
  createdBy: z.string().meta({ description: 'The user who uploaded it' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  deletedAt: Timestamp.nullable().meta({ description: 'It can be restored for 30 days from then' }),
})
export type File = z.infer<typeof File>

/** What a file may have at most: what the edge lets through, too. */
export const mostFileBytes = 50 * 1024 * 1024

export const FolderKey = z.string().regex(/^fld_[0-9a-z]{20}$/, 'must be the id of a folder')
export const FileKey = z.string().regex(/^fil_[0-9a-z]{20}$/, 'must be the id of a file')

/** The text parts beside a file. */
export const UploadFields = z.strictObject({
  name: FileName.optional().meta({ description: 'Without it, the name that comes with the file' }),
  folderId: FolderKey.optional(),
})
