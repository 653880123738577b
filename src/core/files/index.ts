// What is kept in spaces: folders and files. How they may be called, what may be shown in a browser, how much a tenant may keep.
// It says what may be asked; who may ask is decided by the space. It holds nothing and trusts no type that somebody claims.
export { headBytes, saidType, shownType } from './content-type.ts'
export { type Folder, filesContract } from './contract.ts'
export { type File, mostFileBytes, type UploadFields } from './file.ts'
export { fileNameOf } from './file-name.ts'
export { FileUse, sumUp, type UseOfSpace } from './file-use.ts'
export { type Quotas, quotaExceeded, quotasOf, reservedFor, sizeOf } from './quota.ts'
