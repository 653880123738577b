// A box made again from one of its snapshots, in a project of its own: its images brought, its volumes made and filled, its database loaded
// and counted, its servers started. For a drill, and for the host that takes a box over.
// It never touches a box that runs, and never says where the new one lies, who may reach it or when it is good.
export { bringFormerImages } from './bring-images.ts'
export type { ReviveDeps } from './deps.ts'
export { fetchedBefore, whileProven } from './fetched-before.ts'
export { fillProject, fillVolumes } from './fill-project.ts'
export { startProject } from './start-project.ts'
export { watchfulServers } from './watchful-servers.ts'
