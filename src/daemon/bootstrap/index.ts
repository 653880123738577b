// Bootstrap documents of users, cached in memory.
// Decides by events when a document is stale; entries have no time limit.
// Changes nothing, and reads other features through their index or narrow ports.
import { bootstrapContract as contract } from '../../core/bootstrap/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { bootstrapDocuments } from './bootstrap-documents.ts'
import type { BootstrapDeps } from './build-document.ts'

export const bootstrapRoutes = (deps: BootstrapDeps) => {
  const documentOf = bootstrapDocuments(deps)
  return serveContract(contract, { bootstrap: ({ actor }) => documentOf(actor) })
}

export const bootstrapFeature = feature<BootstrapDeps>({ name: 'bootstrap', routes: bootstrapRoutes })
