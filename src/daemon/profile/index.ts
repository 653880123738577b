// Profile and permissions of the calling user, over the API.
// The users feature stores the profile and decides about changes.
// Shows no other user, and changes no role.
import { feature } from '../feature/index.ts'
import { profileRoutes } from './profile.routes.ts'

export { profileRoutes } from './profile.routes.ts'

export const profileFeature = feature<Parameters<typeof profileRoutes>[0]>({ name: 'profile', routes: profileRoutes })
