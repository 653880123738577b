import type { ModulesDeps } from './deps.ts'
import type { ModuleRunsDeps } from './runs/deps.ts'
import { migrateDocuments } from './runs/migrate-documents.ts'
import type { ServicesDeps } from './services/deps.ts'
import { activateService, queueCalls } from './services/life-cycle.ts'

type Deps = Readonly<{ services: ServicesDeps; moduleRuns: Omit<ModuleRunsDeps, 'callService'> }>

/** Prepares and follows changes of installations: migrates documents of type A, and calls services of type B. */
export const moduleHost = ({ services, moduleRuns }: Deps): Pick<ModulesDeps, 'prepare' | 'changed'> => ({
  prepare: async (preparation) =>
    preparation.manifest.type === 'B' ? activateService(services, preparation) : migrateDocuments(moduleRuns, preparation),
  changed: (tx, change) => queueCalls(services, tx, change),
})
