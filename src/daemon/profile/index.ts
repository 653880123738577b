// What users see and say of themselves over the API. The record is the registry's: this room reads it and passes changes on.
// It shows nobody to anybody else, and changes no role.
import { feature } from '../feature/index.ts'
import { profileRoutes } from './profile.routes.ts'

export { profileRoutes } from './profile.routes.ts'

export const profileFeature = feature<Parameters<typeof profileRoutes>[0]>({ name: 'profile', routes: profileRoutes })
