import { createRouter, createWebHistory } from 'vue-router'
import LabsPage from './pages/LabsPage.vue'

declare module 'vue-router' {
  interface RouteMeta {
    /** Addresses of one page keep what is on the screen when moving between them. */
    page: 'labs' | 'lab' | 'attempts' | 'missing'
  }
}

const LabPage = () => import('./pages/LabPage.vue')

export const router = createRouter({
  history: createWebHistory(),
  routes: [
    { path: '/', component: LabsPage, meta: { page: 'labs' } },
    { path: '/labs/:slug', component: LabPage, props: true, meta: { page: 'lab' } },
    { path: '/attempts', component: () => import('./pages/AttemptsPage.vue'), meta: { page: 'attempts' } },
    { path: '/attempts/:attemptId', component: LabPage, props: true, meta: { page: 'lab' } },
    { path: '/:rest(.*)*', component: () => import('./pages/NotFoundPage.vue'), meta: { page: 'missing' } },
  ],
  scrollBehavior(to, from, saved) {
    if (saved) return saved
    return to.meta.page === from.meta.page ? false : { top: 0 }
  },
})

// A new page is read from its beginning, by keyboard and screen reader too.
router.afterEach((to, from, failure) => {
  const isFirst = from.matched.length === 0
  if (!failure && !isFirst && to.meta.page !== from.meta.page) document.getElementById('main')?.focus()
})
