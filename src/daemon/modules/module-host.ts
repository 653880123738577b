import type { ModulesDeps } from './deps.ts'
import type { ModuleRunsDeps } from './runs/deps.ts'
import { migrateDocuments } from './runs/migrate-documents.ts'
import type { ServicesDeps } from './services/deps.ts'
import { activateService, queueCalls } from './services/life-cycle.ts'
import { approvedModule, approvedModules, approvedVersionsOf, newestVersions } from './store/approved-modules.ts'

type Deps = Readonly<{ services: ServicesDeps; moduleRuns: Omit<ModuleRunsDeps, 'callService'> }>

/** What installations need: versions are those of the store, documents of type A are migrated, and services of type B are called. */
export const moduleHost = ({ services, moduleRuns }: Deps): Pick<ModulesDeps, 'approved' | 'prepare' | 'changed'> => ({
  approved: { find: approvedModule, listed: approvedModules, versions: approvedVersionsOf, newest: newestVersions },
  prepare: async (preparation) =>
    preparation.manifest.type === 'B' ? activateService(services, preparation) : migrateDocuments(moduleRuns, preparation),
  changed: (tx, change) => queueCalls(services, tx, change),
})
