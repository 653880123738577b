// The users of tenants: their names, their roles, and what a role may do.
// It decides who counts as allowed to do what; it knows no session, no password and no chat server.

export { isOwnName } from './common-passwords.ts'
export {
  ChangeUserBody,
  type CreatedUser,
  CreateUserBody,
  Reason,
  type ReconciledBox,
  type ResetPassword,
  usersContract,
} from './contract.ts'
export {
  countOutcomes,
  ImportBody,
  type ImportLine,
  ImportOutcome,
  ImportReport,
  type ImportRow,
  importLimits,
  type PlannedUser,
  planImport,
} from './csv.ts'
export { csvCell, csvLines } from './csv-text.ts'
export { foldName, searchWords } from './fold-name.ts'
export { germanReasons } from './german-reasons.ts'
export { columnNotes, commonDomain, importCells, importColumns } from './import-columns.ts'
export {
  capabilitiesOf,
  listedRoles,
  RoleBook,
  RoleName,
  readRoleBook,
  roleOfAlias,
  rolesBeyond,
  rolesWith,
  unknownRoles,
} from './role-book.ts'
export {
  canonicalLocalpart,
  DisplayName,
  generatePassword,
  isPlatformAccount,
  isReserved,
  KnownLocalpart,
  Locale,
  Localpart,
  matrixUserIdOf,
  NewPassword,
  searchNameOf,
  User,
  UserKey,
  UserStatus,
} from './user.ts'
