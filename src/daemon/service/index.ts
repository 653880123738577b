// The daemon about itself: health, readiness, metrics of it and of the fleet, its own documentation.
// Names of boxes and hosts are in the metrics only where a token protects them.
import { feature } from '../feature/index.ts'
import { fleetMetrics } from './fleet-metrics.ts'
import { type ServiceDeps, serviceRoutes } from './service.routes.ts'

export { fleetMetrics } from './fleet-metrics.ts'
export { readMetricsToken } from './metrics-token.ts'
export { namedFamilies, namedSeries } from './named-series.ts'

export const serviceFeature = feature<ServiceDeps>({
  name: 'service',
  routes: serviceRoutes,
  metrics: (deps, registry) => fleetMetrics({ ...deps, registry }),
})
