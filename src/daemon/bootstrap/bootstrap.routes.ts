import { bootstrapContract as contract } from '../../core/bootstrap/index.ts'
import { type Served, serve } from '../http/index.ts'
import { bootstrapOf } from './bootstrap-of.ts'
import type { BootstrapDeps } from './deps.ts'

export const bootstrapRoutes = (deps: BootstrapDeps): Served[] => {
  const documentOf = bootstrapOf(deps)
  return [serve(contract.bootstrap, ({ actor }) => documentOf(actor))]
}
