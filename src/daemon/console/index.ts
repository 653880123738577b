// The pages of the web console, of schools and of vendors: the built files with their security headers, under the daemon's own name alone.
// It answers no call of the API and knows no session.
export { consolePages, schoolPages, vendorPages, webPages } from './console-pages.ts'
