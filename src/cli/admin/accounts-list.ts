import { command } from '../kit/index.ts'
import { accountList } from './accounts.view.ts'

export const listAccounts = command('list', 'All accounts with role and state', {}, ({ api }) => api.admin.listAccounts(), accountList)
