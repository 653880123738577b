import { bootstrapContract as contract } from '../../core/bootstrap/index.ts'
import { serveContract } from '../http/index.ts'
import { bootstrapDocuments } from './bootstrap-documents.ts'
import type { BootstrapDeps } from './build-document.ts'

export const bootstrapRoutes = (deps: BootstrapDeps) => {
  const documentOf = bootstrapDocuments(deps)
  return serveContract(contract, { bootstrap: ({ actor }) => documentOf(actor) })
}
