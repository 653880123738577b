// The data of tenants and users: which table holds whose rows, what the erasure of a user does to each column,
// and what ends in an export. The deletion of a tenant deletes its rows from the last table to the first.
// It decides by table and column alone. It reads no database.
export { erasedName, privacyContract, type TenantDeletion } from './contract.ts'
export { tableRules } from './table-rules.ts'
