// A page without data.

setUpTheme();
document.documentElement.dataset.ready = "true";
