// Modules of tenants: install, activate, update, deactivate and uninstall them; operators withdraw versions and read their health.
// Decides by the rules of core/modules. A change, its event and its audit entry commit in one transaction, and raise the generation.
// It runs no code of a module.
import './module-runs.tables.ts'
import './modules.tables.ts'
import { feature } from '../feature/index.ts'

export { installedElsewhere } from './installed-elsewhere.ts'

export const modulesFeature = feature<unknown>({
  name: 'modules',
  sealed: [
    { table: 'module_secrets', column: 'sealed', key: 'id' },
    { table: 'module_upstreams', column: 'sealed_secret', key: 'module_id' },
  ],
})
