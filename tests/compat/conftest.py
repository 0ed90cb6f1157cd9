"""Runs the older systems' tests on files, and in the slow set on PostgreSQL as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.stores_in_postgres import stored_in as stored_in

HERE = Path(__file__).parent
# What cannot be asked of a database, by module or by module::test.
FILES_ONLY: Mapping[str, str] = {
    "test_aliases.py": "imports and processes, no store",
    "test_completeness.py": "reads the tests themselves",
    "ai_lessons/test_cli.py": "the command line in processes of its own, which open the file of a configuration",
    "ai_lessons/test_config.py": "files of settings",
    "ai_lessons/test_db.py": "the file itself: its folder, its tables, the import of an older one",
    "amplihack_memory/test_package.py": "names of modules",
    "amplihack_memory/test_security.py": "checks before anything is stored",
    "amplihack_memory/test_texts.py": "functions of texts",
    "mnemosyne/test_models.py": "values",
    "mnemosyne/test_settings.py": "settings",
    "mnemosyne/test_quality.py": "functions of texts",
    "ai_houkai/test_cli.py::test_a_backup_is_a_store_of_its_own": "a backup copies a file",
    "ai_houkai/test_cli_second.py::test_a_warning_in_the_log_does_not_stand_between_a_script_and_the_id": "a process opens the file that its option names",
    "ai_houkai/test_cli_second.py::test_an_archive_is_chosen_by_options_and_taken_in_as_asked": "a backup copies a file",
    "ai_lessons/test_core.py::test_add_search_update_delete_in_the_configured_database": "looks at the file",
    "ai_lessons/test_designed.py::test_command_tools_and_functions_write_into_one_book_with_one_vocabulary": "a process opens the file of the configuration",
    "ai_lessons/test_designed.py::test_lessons_can_lie_encrypted": "a key encrypts a file",
    "amplihack_memory/test_cognitive_memory.py::test_the_database_is_made_where_it_was_asked_for": "looks at the file",
    "amplihack_memory/test_connector.py::test_a_corrupted_file_is_called_so": "looks at the file",
    "amplihack_memory/test_connector.py::test_the_file_has_a_write_ahead_log_indexes_and_an_index_of_words": "looks at the file",
    "amplihack_memory/test_connector.py::test_without_a_path_each_agent_has_a_folder_of_its_own": "looks at the file",
    "amplihack_memory/test_hierarchical_memory.py::test_without_a_path_the_graph_lies_under_the_users_home": "looks at the file",
    "mnemosyne/test_server.py::test_the_entry_point_serves_a_client_over_stdio": "a process opens the folder",
    "mnemosyne/test_store.py::test_a_store_lives_in_its_folder_and_opens_again": "looks at the file",
    "mnemosyne/test_store.py::test_one_sqlite_file_holds_the_words_and_the_vectors_as_bytes": "looks at the file",
    "mnemosyne/test_store.py::test_the_default_folder_is_the_published_one": "looks at the file",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = [item for item in items if is_impossible(item)]
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)


def is_impossible(item: pytest.Item) -> bool:
    if "postgres" not in item.name or not item.path.is_relative_to(HERE):
        return False
    module = item.path.relative_to(HERE).as_posix()
    return module in FILES_ONLY or f"{module}::{item.name.partition('[')[0]}" in FILES_ONLY


@pytest.fixture(autouse=True)
def placed(stored_in: str) -> Iterator[str]:
    yield stored_in
