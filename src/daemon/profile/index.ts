// What users see and say of themselves over the API. The record is the registry's: this room reads it and passes changes on.
// It shows nobody to anybody else, and changes no role.
export { profileRoutes } from './profile.routes.ts'
