// Composition: the list of all features, and the dependencies that one feature takes from another.
// It decides nothing; every rule belongs to a feature.
export { companyLogin } from './company-login.ts'
export { compose } from './compose.ts'
export { sealedColumns } from './features.ts'
export { namedObjects, someObjects } from './names-objects.ts'
