// The profile of the calling user: display name, avatar, locale, and its permissions.
// Decides which profile fields and addresses are valid.
// Grants no permission: capabilities come from the role book, roles from user management.
export { type OwnProfile, Profile, profileContract } from './contract.ts'
