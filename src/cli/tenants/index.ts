// `tenantry tenants`: creates, shows, updates, suspends and deletes tenants, and sets their maintenance windows.
// It never creates a box: `tenantry boxes provision` does.
import { noun } from '../kit/index.ts'
import { billing } from './billing.ts'
import { create, list, resume, show, suspend, update } from './commands.ts'
import { deleteTenant } from './delete.ts'
import { exportRows } from './export.ts'
import { window } from './window.ts'

export { openingWords, windowWords } from './tenants.view.ts'

export const tenants = noun('tenants', 'Tenants and their maintenance windows', [
  list,
  show,
  create,
  update,
  window,
  billing,
  suspend,
  resume,
  exportRows,
  deleteTenant,
])
