import type { ModulesDeps } from './deps.ts'
import type { ModuleRunsDeps } from './runs/deps.ts'
import { migrateDocuments } from './runs/migrate-documents.ts'
import type { ServicesDeps } from './services/deps.ts'
import { activateService, queueCalls } from './services/life-cycle.ts'

type Deps = Readonly<{ services: ServicesDeps; moduleRuns: Omit<ModuleRunsDeps, 'callService'> }>

/** What an installation does before and with a change: documents of type A are migrated, services of type B are called. */
export const moduleHost = ({ services, moduleRuns }: Deps): Pick<ModulesDeps, 'prepare' | 'changed'> => ({
  prepare: async (preparation) =>
    preparation.manifest.type === 'B' ? activateService(services, preparation) : migrateDocuments(moduleRuns, preparation),
  changed: (tx, change) => queueCalls(services, tx, change),
})
