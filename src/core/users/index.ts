// The users of tenants: their names, their roles, and what a role may do.
// It decides who counts as allowed to do what; it knows no session, no password and no chat server.
export { type CreatedUser, type ReconciledBox, type ResetPassword, usersContract } from './contract.ts'
export {
  countOutcomes,
  csvCell,
  csvLines,
  type ImportLine,
  ImportOutcome,
  type ImportReport,
  type ImportRow,
  importLimits,
  type PlannedUser,
  planImport,
} from './csv.ts'
export { columnNotes, commonDomain, importCells, importColumns } from './import-columns.ts'
export { capabilitiesOf, listedRoles, RoleBook, readRoleBook, roleOfAlias, unknownRoles } from './role-book.ts'
export {
  canonicalLocalpart,
  DisplayName,
  foldName,
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
