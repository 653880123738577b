// `tenantry users`: lists, creates, updates, disables and imports the users of a tenant, and ends their sessions.
// It never shows a password twice, and an import changes nothing of existing users but, on request, their names.
import { noun } from '../kit/index.ts'
import { endSession, listSessions } from '../sessions/index.ts'
import { create, disable, enable, erase, list, resetPassword, roles, show, update } from './commands.ts'
import { importFile } from './import.ts'

export const users = noun('users', 'Users of a tenant', [
  list,
  show,
  create,
  update,
  roles,
  disable,
  enable,
  erase,
  resetPassword,
  listSessions,
  endSession,
  importFile,
])
