// What users say of themselves, and what they are told of what they may do.
// It decides no right: capabilities come from the role book, roles from whoever manages users.
export { type OwnProfile, Profile, profileContract } from './contract.ts'
