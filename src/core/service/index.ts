// The daemon itself: health, readiness, metrics and API documentation.
export { type Readiness, serviceContract } from './contract.ts'
