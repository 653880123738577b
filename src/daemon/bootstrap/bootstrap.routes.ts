import { bootstrapContract as contract } from '../../core/bootstrap/index.ts'
import { serveContract } from '../http/index.ts'
import { bootstrapOf } from './bootstrap-of.ts'
import type { BootstrapDeps } from './deps.ts'

export const bootstrapRoutes = (deps: BootstrapDeps) => {
  const documentOf = bootstrapOf(deps)
  return serveContract(contract, { bootstrap: ({ actor }) => documentOf(actor) })
}
