import { bootstrapContract as contract } from '../../core/bootstrap/index.ts'
import { type Served, serve } from '../http/index.ts'
import { bootstrapOf } from './bootstrap-of.ts'
import type { BootstrapNeeds } from './needs.ts'

export const bootstrapRoutes = (needs: BootstrapNeeds): Served[] => {
  const documentOf = bootstrapOf(needs)
  return [serve(contract.bootstrap, ({ actor }) => documentOf(actor))]
}
