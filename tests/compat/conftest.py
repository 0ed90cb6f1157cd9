"""Runs the older systems' tests on files, and in the slow set on PostgreSQL as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.stores_in_postgres import stored_in as stored_in

HERE = Path(__file__).parent
# What cannot be asked of a database, by the reason: modules and single tests.
FILES_ONLY: Mapping[str, tuple[str, ...]] = {
    "no store is opened": (
        "test_aliases.py", "test_completeness.py", "ai_lessons/test_config.py", "amplihack_memory/test_package.py",
        "amplihack_memory/test_security.py", "amplihack_memory/test_texts.py", "mnemosyne/test_models.py",
        "mnemosyne/test_settings.py", "mnemosyne/test_quality.py",
    ),
    "a process of its own opens the file that a configuration or an option of the older program names": (
        "ai_lessons/test_cli.py",
        "test_a_warning_in_the_log_does_not_stand_between_a_script_and_the_id",
        "test_command_tools_and_functions_write_into_one_book_with_one_vocabulary",
        "test_the_entry_point_serves_a_client_over_stdio",
    ),
    "it is about the file: its place, its tables, its key, its copy, or an older file that is imported": (
        "ai_lessons/test_db.py",
        "test_a_backup_is_a_store_of_its_own",
        "test_a_corrupted_file_is_called_so",
        "test_a_store_lives_in_its_folder_and_opens_again",
        "test_add_search_update_delete_in_the_configured_database",
        "test_an_archive_is_chosen_by_options_and_taken_in_as_asked",
        "test_an_import_beside_the_programs_own_file_is_noticed",
        "test_an_import_into_a_new_folder_is_read_there",
        "test_an_import_into_another_space_is_noticed",
        "test_lessons_can_lie_encrypted",
        "test_one_sqlite_file_holds_the_words_and_the_vectors_as_bytes",
        "test_over_the_older_systems_folder_the_program_says_what_to_run_and_goes_on_after_it",
        "test_the_database_is_made_where_it_was_asked_for",
        "test_the_default_folder_is_the_published_one",
        "test_the_file_has_a_write_ahead_log_indexes_and_an_index_of_words",
        "test_without_a_path_each_agent_has_a_folder_of_its_own",
        "test_without_a_path_the_graph_lies_under_the_users_home",
    ),
}  # fmt: skip


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    without = {name for names in FILES_ONLY.values() for name in names}
    impossible = [item for item in items if is_on_postgres(item) and names_of(item) & without]
    dropped = set(map(id, impossible))
    items[:] = [item for item in items if id(item) not in dropped]
    config.hook.pytest_deselected(items=impossible)


def is_on_postgres(item: pytest.Item) -> bool:
    return "postgres" in item.name and item.path.is_relative_to(HERE)


def names_of(item: pytest.Item) -> set[str]:
    return {item.path.relative_to(HERE).as_posix(), item.name.partition("[")[0]}


@pytest.fixture(autouse=True)
def placed(stored_in: str) -> Iterator[str]:
    yield stored_in
