// The bootstrap document of each user, kept in memory as long as it holds. Nothing is ever kept for a time: events alone make a document stale.
// It takes what it shows from the rooms that own it, through narrow ports where those rooms come later; it changes nothing.
import { feature } from '../feature/index.ts'
import { bootstrapRoutes } from './bootstrap.routes.ts'
import type { BootstrapDeps } from './deps.ts'

export { bootstrapRoutes } from './bootstrap.routes.ts'
export { noModules } from './deps.ts'

export const bootstrapFeature = feature<BootstrapDeps>({ name: 'bootstrap', routes: bootstrapRoutes })
