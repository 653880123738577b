// Bootstrap documents of users, cached in memory.
// Decides by events when a document is stale; entries have no time limit.
// Changes nothing, and reads other features through their index or narrow ports.
import { feature } from '../feature/index.ts'
import { bootstrapRoutes } from './bootstrap.routes.ts'
import type { BootstrapDeps } from './build-document.ts'

export { bootstrapRoutes } from './bootstrap.routes.ts'

export const bootstrapFeature = feature<BootstrapDeps>({ name: 'bootstrap', routes: bootstrapRoutes })
