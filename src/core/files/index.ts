// Files and folders of spaces: valid names, the types a browser may display inline, and the storage quota of a tenant.
// Decides names, types and reservations. The rights of a space decide who may read and change its files.
// Stores nothing, and trusts no declared type.

export { type Folder, filesContract } from './contract.ts'
export { declaredType, type File, headBytes, inlineType, maxFileBytes, safeFileName, type UploadFields } from './file.ts'
export { formatSize } from './format-size.ts'
export {
  bytesToReserve,
  FileUsage,
  type Quotas,
  quotaExceeded,
  quotasInBytes,
  type SpaceUsage,
  summarizeUsage,
} from './quota.ts'
