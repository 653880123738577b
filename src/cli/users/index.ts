// `tenantry users`: who belongs to a tenant, what each may do, and who is shut out.
// It never shows a password twice, and an import changes nobody who exists.
import { noun } from '../kit/index.ts'
import { endSession, listSessions } from '../sessions/index.ts'
import { create, disable, enable, list, resetPassword, roles, show, update } from './commands.ts'
import { importFile } from './import.ts'

export const users = noun('users', 'The people of a tenant', [
  list,
  show,
  create,
  update,
  roles,
  disable,
  enable,
  resetPassword,
  listSessions,
  endSession,
  importFile,
])
