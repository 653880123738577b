// The page on which a school administers itself: its login, and what its session may do.
// Everything else that the page does are endpoints of users. It knows no operator and no endpoint of operators.
export { type SchoolSession, schoolContract } from './contract.ts'
export { schoolHeader, schoolIdleMs } from './school-page.ts'
