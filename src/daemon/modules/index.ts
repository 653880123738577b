// Modules of tenants: install, activate, update, deactivate and uninstall them; operators withdraw versions and read their health.
// Decides by the rules of core/modules. A change, its event and its audit entry commit in one transaction, and raise the generation.
// Beside it: `store/` (packages, reviews, the catalogue), `runs/` (code of type A in the sandbox) and `services/` (calls of type B).
import './module-runs.tables.ts'
import './modules.tables.ts'
import { modulesContract, operatorModulesContract } from '../../core/modules/index.ts'
import { defineCron, feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { activateModule } from './activate-module.ts'
import { billingTopic, billModule } from './bill-usage.ts'
import { deleteDueData } from './delete-data.ts'
import type { ModulesDeps } from './deps.ts'
import { forgetData, forgetDataTopic } from './forget-data.ts'
import { installModule } from './install-module.ts'
import { deactivateModule, pauseModule, resumeModule, uninstallModule } from './leave-module.ts'
import { listModuleRuns } from './list-runs.ts'
import { changeSettings, showSettings } from './module-settings.ts'
import { listModuleAudit, listModuleHealth, listModules, showModuleHealth } from './operate-modules.ts'
import { listInstallations, listRegistry, showInstallation } from './show-modules.ts'
import { rollbackModule, updateModule } from './update-module.ts'
import { announce, announceTopic, restoreModule, withdrawModule } from './withdraw-module.ts'

export { activateModule } from './activate-module.ts'
export { recordMonthlyUsage } from './bill-usage.ts'
export { deleteDataIn } from './delete-data.ts'
export type { ModulesDeps } from './deps.ts'
export { assertFlagOfModule, installModuleIn } from './install-module.ts'
export { findInstallation } from './installations.repo.ts'
export { installedElsewhere } from './installed-elsewhere.ts'
export { endModuleIn } from './leave-module.ts'
export { moduleHost } from './module-host.ts'
export { modulesOfTenant } from './modules-of-tenant.ts'
export { moduleRunsDeps } from './runs/module-runs-deps.ts'
export { moduleRunsFeature } from './runs/runs.feature.ts'
export { callModuleService } from './services/call-module-service.ts'
export { queueDataDeletion } from './services/life-cycle.ts'
export { serviceDeps } from './services/service-deps.ts'
export { moduleServicesFeature } from './services/services.feature.ts'
export { approvedModule, approvedModules } from './store/approved-modules.ts'
export { authenticateDeveloper } from './store/developers.ts'
export { eraseDeveloper } from './store/erase-developer.ts'
export { erasePackages, modulesOfDevelopers } from './store/erase-packages.ts'
export { openExaminer } from './store/open-examiner.ts'
export { storeFeature } from './store/store.feature.ts'
export { packagesStored, somePackageKeys } from './store/store.repo.ts'

export const modulesFeature = feature<ModulesDeps>({
  name: 'modules',
  routes: (deps) => [
    ...serveContract(modulesContract, {
      listRegistry: ({ actor }) => listRegistry(deps, actor),
      listInstallations: ({ actor }) => listInstallations(deps, actor),
      showInstallation: ({ actor, params }) => showInstallation(deps, actor, params),
      installModule: ({ actor, body }) => installModule(deps, actor, body),
      activateModule: ({ actor, params }) => activateModule(deps, actor, params),
      deactivateModule: ({ actor, params }) => deactivateModule(deps, actor, params),
      uninstallModule: ({ actor, params }) => uninstallModule(deps, actor, params),
      updateModule: ({ actor, params, body }) => updateModule(deps, actor, { ...params, ...body }),
      rollbackModule: ({ actor, params }) => rollbackModule(deps, actor, params),
      pauseModule: ({ actor, params }) => pauseModule(deps, actor, params),
      resumeModule: ({ actor, params }) => resumeModule(deps, actor, params),
      showModuleSettings: ({ actor, params }) => showSettings(deps, actor, params),
      changeModuleSettings: ({ actor, params, body }) => changeSettings(deps, actor, { ...params, ...body }),
      listModuleRuns: ({ actor, params, query }) => listModuleRuns(deps, actor, { ...params, ...query }),
    }),
    ...serveContract(operatorModulesContract, {
      listModules: () => listModules(deps),
      withdrawModule: ({ actor, params, body }) => withdrawModule(deps, actor, { ...params, ...body }),
      restoreModule: ({ actor, params, body }) => restoreModule(deps, actor, { ...params, ...body }),
      listModuleHealth: () => listModuleHealth(deps),
      showModuleHealth: ({ params }) => showModuleHealth(deps, params),
      listModuleAudit: ({ params, query }) => listModuleAudit(deps, { ...params, ...query }),
    }),
  ],
  jobs: (deps) => ({ [billingTopic]: billModule, [forgetDataTopic]: forgetData(deps), [announceTopic]: announce(deps) }),
  crons: (deps) => [
    defineCron({
      ...{ key: 'module-data-cleanup', expression: '0 3 * * *', description: 'Delete data of modules whose retention has ended' },
      run: ({ signal }) => deleteDueData(deps, signal),
    }),
  ],
  sealed: [{ table: 'module_secrets', column: 'sealed', key: 'id' }],
})
