// The daemon about itself: health, readiness, metrics of it and of the fleet, its own documentation.
export { fleetMetrics } from './fleet-metrics.ts'
export { serviceRoutes } from './service.routes.ts'
