// The users of tenants: their names, their roles, and what a role may do.
// It decides who counts as allowed to do what; it knows no session, no password and no chat server.
export { type CreatedUser, type ReconciledBox, type ResetPassword, usersContract } from './contract.ts'
export { csvCell, csvLines } from './csv-cell.ts'
export { countOutcomes, type ImportLine, ImportOutcome, type ImportReport, importLimits } from './import-contract.ts'
export { type ImportRow, type PlannedUser, planImport, wrongHead } from './import-plan.ts'
export { canonicalLocalpart, isOwnAccount, isReserved, Localpart, matrixUserIdOf } from './localpart.ts'
export { newPassword } from './new-password.ts'
export { capabilitiesOf, listedRoles, RoleBook, readRoleBook, unknownRoles } from './role-book.ts'
export { folded, searchNameOf } from './search-name.ts'
export { DisplayName, Locale, NewPassword, User, UserKey, UserStatus } from './user.ts'
