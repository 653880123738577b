// The daemon about itself: health, readiness, metrics of it and of the fleet, its own documentation.
import { feature } from '../feature/index.ts'
import { fleetMetrics } from './fleet-metrics.ts'
import { type ServiceDeps, serviceRoutes } from './service.routes.ts'

export { fleetMetrics } from './fleet-metrics.ts'

export const serviceFeature = feature<ServiceDeps & Readonly<{ offlineAfterMs: number }>>({
  name: 'service',
  routes: serviceRoutes,
  metrics: (deps, registry) => fleetMetrics({ ...deps, registry }),
})
